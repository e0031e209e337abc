import os

from smolagents import OpenAIServerModel, ToolCallingAgent, tool

import task

model = OpenAIServerModel(model_id=task.model, api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])


def loop():
    agent = ToolCallingAgent(tools=[tool(one) for one in task.tools.values()], model=model)
    return str(agent.run(task.prompt))


task.answer({"ToolCallingAgent": loop})
