// Makes a project like `npm create effect-rl`, with packages packed from this clone.
//   npm run create -- ../my-task --template agent
import { spawnSync } from "node:child_process"

const run = (...args) => {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

run("scripts/pack.mjs")
run("packages/create/dist/start.mjs", "--packages", "tarballs", ...process.argv.slice(2))
