"""The task of the libraries for Python: two tools, and an answer as an object."""

import asyncio
import inspect
import json
import os

model = os.environ["MODEL"]
prompt = "What is (2 + 3) + (4 * 5)? Use the tools."
question = [{"role": "user", "content": prompt}]
object_prompt = "Give the sum of 20 and 5 as an object."
schema = {
    "type": "object",
    "properties": {"sum": {"type": "number"}},
    "required": ["sum"],
    "additionalProperties": False,
}
parameters = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def add(a: float, b: float) -> str:
    """Adds two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return f"{a + b:g}"


def mul(a: float, b: float) -> str:
    """Multiplies two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return f"{a * b:g}"


tools = {"add": add, "mul": mul}


def call(name, arguments):
    return tools[name](**arguments)


def answer(features):
    """Carries out the feature that is asked for, and prints what it gave; without one, prints their names."""
    name = os.environ.get("FEATURE")
    given = list(features) if name is None else features[name]()
    if inspect.isawaitable(given):
        given = asyncio.run(given)
    print("\nANSWER " + json.dumps(given), flush=True)
    os._exit(0)
