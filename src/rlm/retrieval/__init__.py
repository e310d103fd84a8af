"""Pure scoring: tokens, embedders, fusion, ranking, explanations. Knows no database."""
