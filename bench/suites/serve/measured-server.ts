/** A server in a process of its own that reports its usage. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { packageArguments } from '../../harness/own-packages.ts'
import type { Usage } from '../fleet/server-process.ts'

export interface MeasuredServer extends AsyncDisposable {
  readonly url: string
  /** CPU of all its threads so far, and its memory. */
  usage(): Promise<Usage>
}

/** @param script In `servers/`. */
export async function startServerProcess(
  script: string,
  ...args: readonly string[]
): Promise<MeasuredServer> {
  const child = fork(fileURLToPath(new URL(`servers/${script}`, import.meta.url)), [...args], {
    execArgv: [...packageArguments(), '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${script} ended before it listened`)
  })
  const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }]
  ended.catch(() => undefined)
  return {
    url,
    usage: async () => {
      const answered = once(child, 'message')
      child.send('usage')
      const [usage] = (await answered) as [Usage]
      return usage
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const over = once(child, 'exit')
      child.disconnect()
      await over
    },
  }
}
