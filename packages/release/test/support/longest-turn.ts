/** Microseconds of this thread. Node 22 has only those of the whole process, which are never less. */
function cpuUsage(): NodeJS.CpuUsage {
  const { threadCpuUsage } = process as { threadCpuUsage?: () => NodeJS.CpuUsage }
  return threadCpuUsage === undefined ? process.cpuUsage() : threadCpuUsage()
}

/**
 * The longest time in milliseconds that this thread computed without a turn for anything else, by its
 * own processor time: a busy machine does not count.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let last = cpuUsage()
  let longest = 0
  const beat = (): void => {
    const now = cpuUsage()
    longest = Math.max(longest, now.user + now.system - last.user - last.system)
    last = now
  }
  const timer = setInterval(beat, 1)
  try {
    await work()
    beat()
  } finally {
    clearInterval(timer)
  }
  return longest / 1000
}
