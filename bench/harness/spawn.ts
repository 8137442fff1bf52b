import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { childLimitOf } from './plan.ts'
import type { ChildReport, Row } from './row.ts'

const program = fileURLToPath(new URL('child.ts', import.meta.url))

/** Plays one entrant in a fresh process. Rejects when the child fails or does not end in time. */
export async function playInChild(
  suite: string,
  row: Row,
  entrant: string,
  quick: boolean,
  environment: Readonly<Record<string, string>>,
  stop?: AbortSignal,
): Promise<ChildReport> {
  const limitMs = childLimitOf(row)
  const child = spawn(
    process.execPath,
    [
      '--expose-gc',
      '--conditions=heddle-source',
      '--disable-warning=ExperimentalWarning',
      program,
      suite,
      row.name,
      entrant,
      quick ? 'quick' : 'full',
    ],
    {
      stdio: ['ignore', 2, 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
      timeout: limitMs,
      killSignal: 'SIGKILL',
    },
  )
  const onAbort = (): boolean => child.kill('SIGTERM')
  stop?.addEventListener('abort', onAbort, { once: true })
  const exit = new Promise<string | undefined>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined)
      else if (signal === 'SIGKILL') resolve(`did not end within ${limitMs / 1000} s`)
      else resolve(`ended with ${signal ?? `code ${code}`}`)
    })
  })
  const [failure, errors, report] = await Promise.all([
    exit,
    text(child.stdio[2] as Readable),
    text(child.stdio[3] as Readable),
  ])
  stop?.removeEventListener('abort', onAbort)
  if (failure !== undefined) throw new Error([failure, lastLines(errors)].join(': '))
  return JSON.parse(report) as ChildReport
}

/** The line that names the error, not the whole stack. */
function lastLines(errors: string): string {
  const lines = errors.split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((each) => /^\w*Error\b/.test(each)) ?? lines.at(-1) ?? 'no message'
  return line.slice(0, 300)
}
