import os

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

import task


@tool
def add():
    async def execute(a: float, b: float) -> str:
        """Adds two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        return task.add(a, b)

    return execute


@tool
def mul():
    async def execute(a: float, b: float) -> str:
        """Multiplies two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        return task.mul(a, b)

    return execute


def loop(name):
    keys = {"base_url": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
    model = get_model(f"{name}/{task.model}", **keys)
    solver = [use_tools(add(), mul()), generate()]
    [log] = eval(Task(dataset=[Sample(input=task.prompt)], solver=solver), model=model, display="none", log_dir="logs")
    return log.samples[0].output.completion if log.status == "success" else str(log.error)


task.answer({"openai-api: tools": lambda: loop("openai-api/policy"), "openai: tools": lambda: loop("openai")})
