import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
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

/** Milliseconds that the outputs may stay open after the program has ended. */
const longestOutput = 2_000

/**
 * Runs a program in a process group of its own, because a Ctrl+C goes to a program and all it has
 * started. Processes of the group that outlive the program are killed too. A process that has left the group
 * and keeps the outputs open is not waited for.
 */
export async function runProgram(
  { file, args }: Command,
  { cwd, env, limit, interruption }: ProgramOptions,
): Promise<Ended> {
  const start = performance.now()
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text))
  }
  const closed = once(child, 'close')
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // It has ended.
    }
  }
  // A kill of this process would leave the program behind, which is in another group.
  const onEnd = (): void => {
    signalGroup('SIGKILL')
    process.exit(1)
  }
  process.on('SIGTERM', onEnd).on('SIGINT', onEnd)
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
  process.off('SIGTERM', onEnd).off('SIGINT', onEnd)
  clearTimeout(overdue)
  const seconds = Math.round((performance.now() - start) / 100) / 10
  signalGroup('SIGKILL')
  await Promise.race([closed, sleep(longestOutput, undefined, { ref: false })])
  child.stdout.destroy()
  child.stderr.destroy()
  const exit = isOverdue ? `none within ${limit / 1000} s` : (code ?? signal ?? 'unknown')
  return { exit, seconds, ...said }
}
