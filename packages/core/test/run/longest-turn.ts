/**
 * The longest time in milliseconds that this thread computed without a turn for anybody else, by its
 * own processor time: a busy machine does not count.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let last = process.threadCpuUsage()
  let longest = 0
  const beat = (): void => {
    const now = process.threadCpuUsage()
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
