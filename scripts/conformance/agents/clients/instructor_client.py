import instructor
from openai import OpenAI
from pydantic import BaseModel

import task


class Result(BaseModel):
    sum: float


def ask(mode):
    client = instructor.from_openai(OpenAI(max_retries=0), mode=mode)
    messages = [{"role": "user", "content": task.object_prompt}]
    asked = client.chat.completions.create(model=task.model, messages=messages, response_model=Result, max_retries=0)
    return asked.model_dump()


modes = [instructor.Mode.TOOLS, instructor.Mode.JSON, instructor.Mode.JSON_SCHEMA]
task.answer({mode.name: lambda mode=mode: ask(mode) for mode in modes})
