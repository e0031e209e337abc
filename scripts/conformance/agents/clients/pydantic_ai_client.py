from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

import task


class Result(BaseModel):
    sum: float


tools = list(task.tools.values())


def loop(model):
    return Agent(model(task.model), tools=tools).run_sync(task.prompt).output


async def read(_, events):
    async for _ in events:
        pass


async def streamed():
    agent = Agent(OpenAIChatModel(task.model), tools=tools)
    return (await agent.run(task.prompt, event_stream_handler=read)).output


def parsed():
    agent = Agent(OpenAIChatModel(task.model), output_type=NativeOutput(Result))
    return agent.run_sync(task.object_prompt).output.model_dump()


task.answer({
    "Chat: tools": lambda: loop(OpenAIChatModel),
    "Chat: tools, streamed": streamed,
    "Responses: tools": lambda: loop(OpenAIResponsesModel),
    "Anthropic: tools": lambda: loop(AnthropicModel),
    "Chat: structured output": parsed,
})
