/** FastAPI in a process of its own, where Debian's packages are there. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SurroundOptions, Surroundings } from '../../harness/row.ts'
import { installPackages, obstacle } from '../../servers/install.ts'
import type { MeasuredServer } from './measured-server.ts'
import { steps } from './work.ts'

export const need = 'fastapi'
const packages = ['python3-fastapi', 'python3-uvicorn'] as const

export async function startFastApi(): Promise<MeasuredServer> {
  const script = fileURLToPath(new URL('servers/fastapi_app.py', import.meta.url))
  const child = spawn('python3', [script, String(steps)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)
  const ended = once(child, 'exit').then(() => {
    throw new Error('FastAPI ended before it listened')
  })
  const next = async <T>(): Promise<T> => {
    const [line] = (await once(lines, 'line')) as [string]
    return JSON.parse(line) as T
  }
  const { url } = await Promise.race([next<{ url: string }>(), ended])
  ended.catch(() => undefined)
  return {
    url,
    usage: async () => {
      const answer = next<{ cpuUs: number; rss: number }>()
      child.stdin.write('usage\n')
      return answer
    },
    async [Symbol.asyncDispose]() {
      const over = once(child, 'exit')
      child.stdin.end()
      await over
    },
  }
}

/** Looks for FastAPI, and installs it where that was asked for. */
export async function surround(
  wanted: ReadonlySet<string>,
  { install, onProgress }: SurroundOptions,
): Promise<Surroundings> {
  const missing = new Map<string, string>()
  if (wanted.has(need)) {
    let hindrance = install ? obstacle() : undefined
    if (install && hindrance === undefined && !isThere()) {
      onProgress(`installing ${packages.join(', ')} with apt-get`)
      try {
        await installPackages(packages)
      } catch (error) {
        hindrance = error instanceof Error ? error.message : String(error)
      }
    }
    const help = `install Debian's packages ${packages.join(' and ')}, or run as root with --install`
    if (!isThere()) missing.set(need, `FastAPI is not on this machine (${hindrance ?? help})`)
  }
  return {
    environment: {},
    missing,
    notes: [],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function isThere(): boolean {
  return spawnSync('python3', ['-c', 'import fastapi, uvicorn']).status === 0
}
