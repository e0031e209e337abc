from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

import task


class Result(BaseModel):
    sum: float


tools = list(task.tools.values())


def loop(llm):
    messages = create_agent(llm, tools).invoke({"messages": task.question})["messages"]
    text = messages[-1].text
    return text() if callable(text) and not isinstance(text, str) else str(text)


def chat(**more):
    return ChatOpenAI(model=task.model, max_retries=0, **more)


task.answer({
    "ChatOpenAI: create_agent": lambda: loop(chat()),
    "ChatOpenAI, streamed: create_agent": lambda: loop(chat(streaming=True)),
    "ChatOpenAI, Responses: create_agent": lambda: loop(chat(use_responses_api=True)),
    "ChatAnthropic: create_agent": lambda: loop(ChatAnthropic(model=task.model, max_tokens=1000, max_retries=0)),
    "ChatOpenAI: structured output": lambda: chat().with_structured_output(Result).invoke(task.object_prompt).model_dump(),
})
