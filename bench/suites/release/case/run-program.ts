import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Command, Output } from '../tools/tool.ts'

export interface ProgramOptions {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Milliseconds after which it is ended. */
  readonly limit: number
  /** Resolves when it is to be interrupted, as with Ctrl+C. */
  readonly interruption?: Promise<void>
}

export interface Ended extends Output {
  /** The exit code, the signal that ended it, or that it took too long. */
  readonly exit: number | string
  readonly seconds: number
}

/**
 * Runs a program in a process group of its own, because a Ctrl+C goes to a program and all it has
 * started. What is left of the group when the program has ended is ended too.
 */
export async function runProgram(
  { file, args }: Command,
  { cwd, env, limit, interruption }: ProgramOptions,
): Promise<Ended> {
  const start = performance.now()
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // It has ended.
    }
  }
  let isOverdue = false
  const overdue = setTimeout(() => {
    isOverdue = true
    signalGroup('SIGKILL')
  }, limit)
  let isOver = false
  void interruption?.then(() => {
    if (!isOver) signalGroup('SIGINT')
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  isOver = true
  clearTimeout(overdue)
  const seconds = Math.round((performance.now() - start) / 100) / 10
  signalGroup('SIGKILL')
  const [stdout, stderr] = await output
  const exit = isOverdue ? `none within ${limit / 1000} s` : (code ?? signal ?? 'unknown')
  return { exit, seconds, stdout, stderr }
}
