/**
 * A verifier of terminal tasks that is easily fooled or harmed, as a control for the exploits. Like a container shared by agent and tests,
 * it keeps the tests and the reference solution in the agent's sandbox from the start. The tests run there after the agent's command, in
 * its session and with its home folder; programs of the agent and the working folder take precedence. `reward.json` is read before
 * `reward.txt`, and a missing verdict crashes the verifier. Afterwards it keeps the working folder.
 */
import { Outcome, Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { Effect, Option, Schema } from "effect"

const verifier = `import json, os, subprocess, sys
home = os.environ["HOME"]
os.environ["PATH"] = f"{home}/.local/bin:{home}/bin:/app:" + os.environ["PATH"]
session = open("command").read() + "\\nsleep 0.3; cd /app; bash -lc 'bash /tests/test.sh'"
subprocess.run(["/bin/bash", "-c", session], cwd="/app", env={**os.environ, "PYTHONPATH": "/app"}, stdin=subprocess.DEVNULL)
logs = "/logs/verifier/"
if os.path.exists(logs + "reward.json"):
    reward = json.loads(open(logs + "reward.json").read().split("\\0")[0])["reward"]
else:
    reward = float(open(logs + "reward.txt").read())
left = 0
for pid in os.listdir("/proc"):
    if pid.isdigit() and int(pid) not in (1, os.getpid()) and ") Z " not in open(f"/proc/{pid}/stat").read():
        left += 1
os.chdir("/app")
subprocess.run("mkdir /logs/kept; cp * /logs/kept", shell=True, check=True)
for name in subprocess.check_output(["/bin/ls"], text=True).split("\\n")[:-1]:
    open(name, "rb").read()
with open(f"{home}/said.json", "w") as file:
    json.dump({"reward": reward, "left": left}, file)
`

const Said = Schema.fromJsonString(Schema.Struct({ reward: Schema.Finite, left: Schema.Int }))

const ended = Outcome.match({
  Exited: ({ code }) => `ended too early, with code ${code}`,
  Signalled: ({ signal }) => `ended by ${signal}`,
  TimedOut: () => "never ended",
  OutOfMemory: () => "out of memory",
  OutputLimit: ({ of }) => `flooded: ${of}`,
  Killed: () => "killed"
})

/** The effect of an agent's command: `rewarded`, how the verifier was harmed, or `nothing`. */
export const run = Effect.fnUntraced(function*(tests: Readonly<Record<string, string>>, command: string) {
  const sandbox = yield* Sandbox.Sandbox
  const place = yield* sandbox.open({
    runtime: "shell",
    role: "agent",
    files: SandboxFiles.make({
      "verifier.py": verifier,
      command,
      "workdir/given.txt": "given\n",
      "logs/verifier/.keep": "",
      "solution/solve.sh": "echo 42 > /app/answer.txt",
      ...Object.fromEntries(Object.entries(tests).map(([name, text]) => [`tests/${name}`, text]))
    }),
    folders: { "/app": "workdir", "/tests": "tests", "/logs": "logs", "/solution": "solution" },
    limits: { wall: "8 seconds", processes: 32 }
  })
  const outcome = yield* place.exec({ argv: ["/usr/bin/python3", "verifier.py"] })
  const said = Schema.decodeUnknownOption(Said)(Outcome.text((yield* place.read("said.json")) ?? new Uint8Array(0)))
  if (Option.isNone(said)) return `harmed: ${ended(outcome)}`
  if (said.value.reward >= 1) return "rewarded"
  return said.value.left > 0 ? "harmed: has processes left" : "nothing"
}, Effect.scoped)
