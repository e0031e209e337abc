import Instructor from "@instructor-ai/instructor"
import OpenAI from "openai"
import { answer, model, object, schema } from "./task.mjs"

const client = new OpenAI({ maxRetries: 0 })
const ask = (mode) => async () => {
  const { sum } = await Instructor({ client, mode }).chat.completions.create({
    model,
    messages: object,
    response_model: { schema, name: "Result" },
    max_retries: 0
  })
  return { sum }
}

await answer({ "JSON_SCHEMA": ask("JSON_SCHEMA"), "JSON": ask("JSON"), "TOOLS": ask("TOOLS") })
