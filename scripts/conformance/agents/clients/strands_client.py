import os

from strands import Agent, tool
from strands.models.openai import OpenAIModel

import task


def loop():
    keys = {"base_url": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
    agent = Agent(model=OpenAIModel(client_args=keys, model_id=task.model), tools=[tool(one) for one in task.tools.values()], callback_handler=None)
    return str(agent(task.prompt)).strip()


task.answer({"tools, streamed": loop})
