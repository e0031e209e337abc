export { createJustBashSandbox } from "@ai-sdk/sandbox-just-bash"
export { InMemoryFs } from "just-bash"
