from agents import Agent, Runner, function_tool, set_default_openai_api, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel

import task


class Result(BaseModel):
    sum: float


set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(max_retries=0))
tools = [function_tool(tool) for tool in task.tools.values()]
agent = Agent(name="calculator", instructions="Calculate.", model=task.model, tools=tools)
as_object = Agent(name="objects", instructions="Give objects.", model=task.model, output_type=Result)
handing = Agent(name="first", instructions="Hand over.", model=task.model, handoffs=[agent])


def by(api, name):
    async def loop(first, prompt):
        set_default_openai_api(api)
        return (await Runner.run(first, prompt)).final_output

    async def streamed():
        set_default_openai_api(api)
        result = Runner.run_streamed(agent, task.prompt)
        async for _ in result.stream_events():
            pass
        return result.final_output

    async def parsed():
        return (await loop(as_object, task.object_prompt)).model_dump()

    return {
        f"{name}: tools": lambda: loop(agent, task.prompt),
        f"{name}: tools, streamed": streamed,
        f"{name}: structured output": parsed,
        f"{name}: handoff": lambda: loop(handing, task.prompt),
    }


task.answer({**by("responses", "Responses"), **by("chat_completions", "Chat")})
