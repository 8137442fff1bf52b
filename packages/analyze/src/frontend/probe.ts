import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Reading } from './language.ts'

const entry = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './probe-thread.ts' : './probe-thread.js',
    import.meta.url,
  ),
)

/** Longer than any text that can be read needs; one that takes longer is refused. */
const limitMs = 20_000

/**
 * Whether the parser survives a text, found out in a process that it may crash.
 *
 * It is asked in a thread, whose stack is smaller than that of a process: what passes there passes
 * in every thread of ours. Costs a tenth of a second, so it is only for texts that look dangerous.
 */
export function parserSurvives(text: string, reading: Reading): boolean {
  const child = spawnSync(process.execPath, [entry, JSON.stringify(reading)], {
    input: text,
    timeout: limitMs,
    killSignal: 'SIGKILL',
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  return child.status === 0
}
