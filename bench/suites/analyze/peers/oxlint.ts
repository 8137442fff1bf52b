import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Sources } from '../sources.ts'

/** The one that checks this repository: another version would have to be installed for every system. */
const program = fileURLToPath(
  new URL('../../../../node_modules/oxlint/bin/oxlint', import.meta.url),
)

/** The typed rules about promises. It has none for races. */
export function typed(sources: Sources): Promise<number> {
  const rules = ['typescript/no-floating-promises', 'typescript/no-misused-promises']
  return lint(sources, ['--type-aware', '-A', 'all', ...rules.flatMap((rule) => ['-D', rule])])
}

/** Everything that it calls correctness. */
export function untyped(sources: Sources): Promise<number> {
  return lint(sources, ['-D', 'correctness'])
}

async function lint({ root, files }: Sources, options: readonly string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    [program, '--format=json', '--no-ignore', ...options, ...files],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } },
  )
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const output = await text(child.stdout)
  const code = await ended
  // Exit code 1 means that it has found something.
  if (code !== 0 && code !== 1) throw new Error(`oxlint ended with ${code}: ${output.slice(-300)}`)
  const { diagnostics } = JSON.parse(output) as { readonly diagnostics: readonly unknown[] }
  return diagnostics.length
}
