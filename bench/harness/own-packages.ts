/**
 * Which of our packages a server under load runs: the sources, or what `npm run check` has built and users install.
 *
 * Sources are stripped of their types while they are loaded, in every thread; that takes some 75 MB that no user pays. `--built` measures
 * without it. The answer goes to processes in between by an environment variable.
 */
import { existsSync } from 'node:fs'

const variable = 'HEDDLE_BENCH_BUILT'

/** From now on, also in processes that are started. @throws Error when the packages are not built. */
export function useBuiltPackages(): void {
  const entry = new URL('../../packages/server/dist/index.js', import.meta.url)
  if (!existsSync(entry)) {
    throw new TypeError('the packages are not built: run `npm run check` first')
  }
  process.env[variable] = '1'
}

/** Arguments of Node for a process that imports our packages by name. */
export function packageArguments(): readonly string[] {
  return process.env[variable] === '1' ? [] : ['--conditions=heddle-source']
}
