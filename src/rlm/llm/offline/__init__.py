"""`offline`: no language model, and it says so. A planner that reads only its prompt.

- `client`: what the loop talks to.
- `question`: a question made ready, and the plainer orders of its words.
- `pattern`, `frames`, `forms*`: the forms of question, as data, and how a question is read by them.
- `names`: from the words of a question to a term.
- `prompt`, `planner`: what the prompt says, and the next step over an ontology.
- `repl`, `repl_rows`: the functions that its programs call.
- `texts`: find, count and quote.
"""
