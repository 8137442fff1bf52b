/** Finds and reads the settings of a project. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { configName, isProblem, parseConfig, type Config } from './analyze-config.ts'

export interface LoadedConfig {
  /** Absolute; undefined when there is none, and all is default. */
  readonly file: string | undefined
  /** The base of its paths: its folder, or the folder from which it was searched. */
  readonly folder: string
  readonly config: Config
}

/**
 * Reads `file`, or the nearest `heddle-analyze.json` in `folder` and above.
 *
 * *Cancellation*: none; it reads one small file.
 *
 * @throws `HDL_ANALYZE_CONFIG` when it is not readable or not understood.
 */
export async function loadConfig(folder: string, file?: string): Promise<LoadedConfig> {
  if (file !== undefined) {
    const absolute = path.resolve(folder, file)
    const text = await tryRead(absolute)
    if (text === undefined)
      throw new HeddleError('HDL_ANALYZE_CONFIG', { file, problem: 'does not exist' })
    return { file: absolute, folder: path.dirname(absolute), config: understand(file, text) }
  }
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const absolute = path.join(at, configName)
    const text = await tryRead(absolute)
    if (text !== undefined) {
      const shown = path.relative(folder, absolute)
      return { file: absolute, folder: at, config: understand(shown, text) }
    }
    if (at === path.dirname(at))
      return { file: undefined, folder: path.resolve(folder), config: {} }
  }
}

function understand(file: string, text: string): Config {
  const config = parseConfig(text)
  if (!isProblem(config)) return config
  const { problem, suggestion } = config
  throw new HeddleError('HDL_ANALYZE_CONFIG', { file, problem, suggestion })
}

async function tryRead(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const problem = `cannot be read (${message})`
    throw new HeddleError('HDL_ANALYZE_CONFIG', { file, problem }, { cause: error })
  }
}
