"""What a prompt says of tools."""

from __future__ import annotations

from rlm.loop.prompts import describe_tools


def test_what_comes_after_a_hidden_parameter_is_given_by_its_name():
    """`sparql_peek(x, 'schema')` was read as a limit, since the prompt did not show the limit."""

    def peek(resource, limit=5, output_mode="sample", related=True):
        """Rows of a resource; output_mode is sample or schema."""

    line = describe_tools({"peek": peek})
    assert line.startswith("- `peek(resource, *, output_mode='sample')`: Rows")
