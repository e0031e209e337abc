/** Measures while nothing else runs, or says how much else ran: what uses all processors loses most by sharing them. */
import { existsSync, readFileSync } from "node:fs"
import { cpus } from "node:os"

const attempts = 3
const longestWaitSeconds = 30
const tolerated = 0.1

/** Milliseconds that all processors were busy, and in total. */
const times = () =>
  cpus().reduce(
    ({ busy, total }, { times: { idle, irq, nice, sys, user } }) => ({
      busy: busy + irq + nice + sys + user,
      total: total + idle + irq + nice + sys + user
    }),
    { busy: 0, total: 0 }
  )

/** Milliseconds of processor time of the processes that this one started and waited for. */
const childMillis = () => {
  if (!existsSync("/proc/self/stat")) return NaN
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? []
  const ticks = Number(fields[13]) + Number(fields[14])
  return ticks * 10
}

/** Share of the processors that other programs take while `run` runs. */
const others = async (run: () => unknown) => {
  const [before, childBefore] = [times(), childMillis()]
  const value = await run()
  const after = times()
  const own = childMillis() - childBefore
  return { value, share: Math.max(0, (after.busy - before.busy - own) / (after.total - before.total)) }
}

const pause = () => others(() => new Promise((resolve) => setTimeout(resolve, 1000)))

/** Waits for a second in which nothing else runs, for half a minute at most. */
const quiet = async () => {
  for (let second = 0; second < longestWaitSeconds; second++) {
    if (!((await pause()).share > tolerated)) return
  }
}

/** The best of three tries, by what other programs took meanwhile; the first that was undisturbed ends them. */
export const undisturbed = async (run: () => unknown): Promise<{ readonly value: unknown; readonly share: number }> => {
  await quiet()
  let best = await others(run)
  for (let attempt = 1; attempt < attempts && best.share > tolerated; attempt++) {
    await quiet()
    const next = await others(run)
    if (next.share < best.share) best = next
  }
  return best
}
