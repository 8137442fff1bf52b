/** FastAPI in a process of its own, where Debian's packages are there. */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { installPackages, obstacle } from './install.ts'
import type { ProvideOptions } from './provide.ts'

/** The requirement of a FastAPI entrant. */
export const fastApiNeed = 'fastapi'

/** Packages for uvicorn with the event loop and the parser that it recommends. */
const packages = [
  'python3-fastapi',
  'python3-uvicorn',
  'python3-uvloop',
  'python3-httptools',
] as const
/** Debian's packages are those of Debian's Python; the first one in the path may be another. */
const pythons = ['/usr/bin/python3', 'python3'] as const

/** A program that prints its address on standard output, and its usage for each line on standard input. */
export interface PythonServer extends AsyncDisposable {
  readonly url: string
  usage(): Promise<{ readonly cpuUs: number; readonly rss: number }>
}

export async function startPythonServer(
  script: string,
  ...args: readonly string[]
): Promise<PythonServer> {
  const python = findPython()
  if (python === undefined) throw new Error('no Python on this machine has FastAPI')
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(python, [script, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
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

/** Looks for FastAPI, and installs it where that was asked for. Resolves with the reason when it is not there. */
export async function provideFastApi({
  install,
  onProgress,
}: ProvideOptions): Promise<string | undefined> {
  if (findPython() !== undefined) return undefined
  let hindrance = install ? obstacle() : undefined
  if (install && hindrance === undefined) {
    onProgress(`installing ${packages.join(', ')} with apt-get`)
    try {
      await installPackages(packages)
    } catch (error) {
      hindrance = error instanceof Error ? error.message : String(error)
    }
    if (findPython() !== undefined) return undefined
  }
  const help = `install Debian's packages ${packages.join(', ')}, or run as root with --install`
  return `FastAPI is not on this machine (${hindrance ?? help})`
}

function findPython(): string | undefined {
  const modules = 'import fastapi, uvicorn, uvloop, httptools'
  return pythons.find((python) => spawnSync(python, ['-c', modules]).status === 0)
}
