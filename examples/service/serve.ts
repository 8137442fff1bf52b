/** `heddle serve` of this checkout, as a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/heddle.js')
const served = path.join(import.meta.dirname, 'served.ts')

export interface Service extends AsyncDisposable {
  readonly url: string
  /** Ends the process and returns its exit code: null when the signal ended it. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/** Starts it on a free port and waits until it listens. */
export async function serve(): Promise<Service> {
  const args = ['serve', '--jobs', served, '--port', '0', '--store', 'sqlite:service.db']
  const child = spawn(process.execPath, ['--conditions=heddle-source', launcher, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit') as Promise<[number | null]>
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const [found] = /http:\/\/[\d.]+:\d+/.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
    ended.then(([code]) => reject(new Error(`heddle serve ended with ${code}`)), reject)
  })
  const stop: Service['stop'] = async (signal) => {
    child.kill(signal)
    const [code] = await ended
    return code
  }
  return {
    url,
    stop,
    // Closes after a failure of the caller: no process is left behind.
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL')
    },
  }
}
