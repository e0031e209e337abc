from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

import task


async def loop():
    info = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown", "structured_output": True}
    client = OpenAIChatCompletionClient(model=task.model, model_info=info, max_retries=0)
    agent = AssistantAgent("calculator", model_client=client, tools=list(task.tools.values()), max_tool_iterations=5)
    return (await agent.run(task=task.prompt)).messages[-1].content


task.answer({"AssistantAgent": loop})
