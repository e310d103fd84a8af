"""`offline`: no language model, and it says so. A planner that speaks the loop's protocol and reads
only its prompt.

- `client`: what the loop talks to; it hands a prompt to one of two planners.
- `text`: finds, counts, quotes and outlines in texts of any length.
- `asked`: what a question over an ontology asks for, whatever its wording.
- `graph`: answers such questions, by the procedures in the prompt or by looking in a fixed order.

The package imports nothing by itself: who only wants to know what a question asks loads `asked`
alone.
"""
