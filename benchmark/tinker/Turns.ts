/** Preloaded into a server. On request, it tells the parent process the longest event-loop turn since the last request. */

let longest = 0
let last = process.threadCpuUsage()

/** Milliseconds of this thread's processor time since the last turn, which other programs do not lengthen. */
const elapsed = () => {
  const { system, user } = process.threadCpuUsage(last)
  return (system + user) / 1000
}

setInterval(() => {
  longest = Math.max(longest, elapsed())
  last = process.threadCpuUsage()
}, 1).unref()

process.on("message", () => {
  process.send?.(longest)
  longest = 0
})
