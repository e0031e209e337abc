import os

from agno.agent import Agent
from agno.models.openai.like import OpenAILike

import task


def loop():
    model = OpenAILike(id=task.model, base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
    return Agent(model=model, tools=list(task.tools.values())).run(task.prompt).content


task.answer({"tools": loop})
