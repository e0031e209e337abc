import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

import task


async def loop():
    llm = OpenAILike(
        model=task.model,
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )
    return str(await FunctionAgent(tools=list(task.tools.values()), llm=llm).run(task.prompt))


task.answer({"FunctionAgent": loop})
