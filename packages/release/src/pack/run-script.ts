import path from 'node:path'
import {
  type CommandOptions,
  type CommandResult,
  Patience,
  runCommand,
  systemKernel,
} from '@heddle/core/lowlevel'
import { isFields } from '../manifest/local-range.ts'
import type { WorkspacePackage } from '../model.ts'

export interface RunScriptOptions extends CommandOptions {
  /** Milliseconds from the call after which the script is ended with `HDL_TIMEOUT`. */
  readonly deadline?: number
  /** `npm_package_version` of the script; the one of the manifest when absent. */
  readonly version?: string
  /** Runs the script alone, without those called `pre…` and `post…`: as npm runs those of its own. */
  readonly alone?: boolean
}

/** The programs that the package and the folders above it have installed, nearest first. */
function binFolders(folder: string): string[] {
  const found: string[] = []
  for (let above = folder; ; above = path.dirname(above)) {
    found.push(path.join(above, 'node_modules', '.bin'))
    if (above === path.dirname(above)) return found
  }
}

/** Windows may call it `Path`, and have it twice. */
function withPath(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Record<string, string | undefined> {
  const keys = Object.keys(env).filter((key) => /^path$/i.test(key))
  const before = keys.flatMap((key) => env[key]?.split(path.delimiter) ?? [])
  const all = [...binFolders(folder), ...new Set(before)].join(path.delimiter)
  const rest = Object.entries(env).filter(([key]) => !keys.includes(key))
  return { ...Object.fromEntries(rest), [keys[0] ?? 'PATH']: all }
}

/**
 * Runs a script of a package with what npm's scripts rely on: its folder, the programs of
 * node_modules/.bin on the path, and the variables that say which package and which script it is.
 * As with `npm run`, the scripts called `pre…` and `post…` run around it, unless it is to run alone.
 *
 * Undefined when the package has no such script.
 *
 * *Cancellation*: the script's whole process group is ended; rejects when it is gone.
 *
 * @throws `HDL_COMMAND_FAILED` with the end of the script's output; `HDL_CANCELLED`; `HDL_TIMEOUT`.
 */
export async function runScript(
  from: WorkspacePackage,
  name: string,
  options: RunScriptOptions = {},
): Promise<CommandResult | undefined> {
  const { scripts } = from.manifest
  const scriptOf = (event: string): string | undefined => {
    const found = isFields(scripts) && Object.hasOwn(scripts, event) ? scripts[event] : undefined
    return typeof found === 'string' && found !== '' ? found : undefined
  }
  if (scriptOf(name) === undefined) return undefined

  const { deadline, version = from.version, alone = false, ...command } = options
  const { clock } = options.kernel ?? systemKernel
  using patience = new Patience(`Script "${name}" of ${from.name}`, clock, options)
  patience.check()
  const run = async (event: string): Promise<CommandResult | undefined> => {
    const script = scriptOf(event)
    if (script === undefined) return undefined
    const env = withPath(
      {
        ...(options.env ?? process.env),
        INIT_CWD: from.folder,
        NODE: process.execPath,
        npm_command: 'run',
        npm_lifecycle_event: event,
        npm_lifecycle_script: script,
        npm_node_execpath: process.execPath,
        npm_package_json: from.manifestFile,
        npm_package_name: from.name,
        npm_package_version: version,
      },
      from.folder,
    )
    const [shell, ...flags] =
      process.platform === 'win32'
        ? [process.env['ComSpec'] ?? 'cmd', '/d', '/s', '/c']
        : ['/bin/sh', '-c']
    return runCommand(shell, [...flags, script], {
      ...command,
      cwd: from.folder,
      env,
      signal: patience.bounded,
    })
  }
  try {
    if (!alone) await run(`pre${name}`)
    const result = await run(name)
    if (!alone) await run(`post${name}`)
    return result
  } catch (error) {
    throw patience.errorOf(error)
  }
}
