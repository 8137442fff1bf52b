/** `npm run test:chaos -- release [--kills 200 --packages 8 --seed N --json]` */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { anySeed, wholeNumbers } from '../call.ts'
import { killReleases } from './kill-releases.ts'

/** Returns the exit code. */
export async function playRelease(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '200' },
      packages: { type: 'string', default: '8' },
      seed: { type: 'string', default: anySeed() },
      json: { type: 'boolean', default: false },
    },
  })
  const { seed, kills, packages } = wholeNumbers(values, ['seed', 'kills', 'packages'])
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-release-'))
  const print = (text: string): void => (values.json ? console.error(text) : console.log(text))
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  print(`seed ${seed}: ${kills} kills of releases with ${packages} packages`)
  const started = performance.now()
  const report = await killReleases({
    folder,
    seed,
    kills,
    packages,
    signal: stop.signal,
    onKill: (killed) => {
      if (killed % 10 === 0) print(`  ${killed} killed`)
    },
  })
  process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
  const ok = report.problems.length === 0 && report.kills >= kills
  const seconds = Math.round((performance.now() - started) / 1000)
  if (values.json) console.log(JSON.stringify({ ok, seed, seconds, ...report }))
  else {
    const { problems, at, ...counts } = report
    for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(12)}${count}`)
    print(
      `killed at   ${Object.entries(at)
        .map(([stage, count]) => `${stage} ${count}`)
        .join(', ')}`,
    )
    for (const problem of problems.slice(0, 20)) print(`✖ ${problem}`)
    print(`${seconds} s`)
  }
  if (ok) rmSync(folder, { recursive: true, force: true })
  else print(`What was left behind is in ${folder}. Play it again with --seed ${seed}.`)
  return ok ? 0 : 1
}
