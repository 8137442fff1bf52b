/** Reports by IPC the address of a server, and its usage on request: CPU of all its threads, and memory. */
export function report(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send!({ cpuUs: user + system, rss: process.memoryUsage.rss() })
  })
  process.on('disconnect', () => process.exit(0))
  process.send!({ url })
}
