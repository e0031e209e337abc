/** A runner that is easily fooled: the control of the exploits. It runs in an agent's sandbox, so that it harms nothing. */
import { Outcome, Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { Effect } from "effect"
import { naive } from "./ExploitPrograms.ts"

/**
 * Runs the program once, then the tests, which are `run_tests.py` of the files, in the same folder and process, and takes the exit code for
 * the reward.
 */
export const reward = Effect.fnUntraced(function*(code: string, files: Readonly<Record<string, string>> = naive) {
  const sandbox = yield* Sandbox.Sandbox
  const place = yield* sandbox.open({
    runtime: "python",
    role: "agent",
    files: SandboxFiles.make({ ...files, "solution.py": code }),
    environment: { PYTHONPATH: ".", PYTHONDONTWRITEBYTECODE: "1" },
    limits: { wall: "10 seconds" }
  })
  yield* place.exec({ argv: ["python3", "solution.py"] })
  const outcome = yield* place.exec({ argv: ["python3", "run_tests.py"] })
  return Outcome.is("Exited")(outcome) && outcome.code === 0 ? 1 : 0
}, Effect.scoped)
