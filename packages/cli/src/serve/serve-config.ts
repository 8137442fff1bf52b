/** The config file of a server, and the limits that flags name. */
import { access, readFile } from 'node:fs/promises'
import path from 'node:path'
import { InvalidArgumentError } from 'commander'
import { HeddleError } from '@heddle/core'
import { checkOptions, checkText, describe, type OptionNames } from '@heddle/core/lowlevel'
import type { ServerConfig, ServerLimits } from '@heddle/server'
import { parseDuration } from '../arguments/duration.ts'
import { parseBytes } from '../arguments/size.ts'
import { loadModule } from '../user-code/load-module.ts'

/** Read from the current folder when one is there and none is named. */
export const configNames = [
  'heddle.config.ts',
  'heddle.config.mts',
  'heddle.config.js',
  'heddle.config.mjs',
  'heddle.config.json',
] as const

const fieldNames = {
  jobs: 1,
  host: 1,
  port: 1,
  store: 1,
  advertise: 1,
  clusterSecret: 1,
  threads: 1,
  limits: 1,
  fleet: 1,
  artifacts: 1,
  trustedProxies: 1,
  inventory: 1,
  policy: 1,
  errorDetails: 1,
  log: 1,
} satisfies OptionNames<ServerConfig>

/**
 * Values are checked by the server, which they are options of.
 *
 * *Cancellation*: none; it reads one file, or runs one module.
 * @throws `HDL_NO_MODULE`; `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION` for an unknown setting of a server.
 */
export async function readServeConfig(named: string | undefined): Promise<ServerConfig> {
  const file = named ?? (await usualFile())
  if (file === undefined) return {}
  const found = path.extname(file) === '.json' ? await readJson(file) : await readExport(file)
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw bad(file, 'an object of settings as its default export')
  }
  checkOptions(found, fieldNames, file)
  const config = found as ServerConfig
  if (config.jobs !== undefined) checkText('jobs', config.jobs)
  return config
}

async function usualFile(): Promise<string | undefined> {
  for (const name of configNames) {
    const isThere = await access(name).then(
      () => true,
      () => false,
    )
    if (isThere) return name
  }
  return undefined
}

async function readJson(file: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw bad(file, `a file that can be read (${describe(error)})`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw bad(file, `JSON (${describe(error)})`)
  }
}

async function readExport(file: string): Promise<unknown> {
  return (await loadModule(file))['default']
}

function bad(file: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option: 'config', value: file, expected })
}

/**
 * One `--limit NAME=VALUE` after the other. The server knows which names and values there are; here a value becomes a
 * number: `64`, `10s`, `2MiB`, `Infinity`. `resources.NAME` is a number of permits, or a rate: `20/1s`.
 */
export function parseLimit(text: string, before: ServerLimits | undefined): ServerLimits {
  const [, resource, name, value] = /^(resources\.)?([\w-]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    const examples = 'queue=10s, prepareCapacity=64, body=2MiB, resources.license=4'
    throw new InvalidArgumentError(`Expected NAME=VALUE: ${examples}.`)
  }
  if (resource !== undefined) {
    return { ...before, resources: { ...before?.resources, [name]: parsePermits(value) } }
  }
  const parse = /i?b$/i.test(value) ? parseBytes : parseDuration
  return { ...before, [name]: parse(value) }
}

/** `4`, or `20/1s`: 20 starts per second. */
function parsePermits(value: string): number | { readonly limit: number; readonly per: number } {
  const [count, per, ...more] = value.split('/')
  const limit = Number(count)
  if (!Number.isInteger(limit) || limit < 1 || more.length > 0) {
    throw new InvalidArgumentError(
      'Expected permits or a rate: resources.license=4, resources.api=20/1s.',
    )
  }
  return per === undefined ? limit : { limit, per: parseDuration(per) }
}
