/**
 * Settings of the npm client that say where a package belongs and who we are there.
 *
 * Only a few keys matter: `registry`, `@scope:registry`, and under the address of a registry
 * `_authToken`, `_auth`, or `username` with `_password`. Nothing here is ever printed: values that are
 * secret leave this file only as the `authorization` header of a request to the address they are for.
 */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'

export interface NpmConfigOptions {
  /** Where the project's `.npmrc` is. */
  readonly folder?: string
  /** Default: the one of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const defaultRegistry = 'https://registry.npmjs.org/'

/** The npm client's settings, as far as they are about registries. */
export class NpmConfig {
  readonly #values: ReadonlyMap<string, string>

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values
  }

  /** The address of the registry that a package belongs to. */
  registryFor(name: string): string {
    const scope = /^(@[^/]+)\//.exec(name)?.[1]
    const ofScope = scope === undefined ? undefined : this.#values.get(`${scope}:registry`)
    return ofScope ?? this.#values.get('registry') ?? defaultRegistry
  }

  /**
   * The `authorization` header for an address. The entry with the longest path wins: a token for
   * `//host/team-a/` is not sent to `//host/team-b/`.
   */
  authorizationFor(url: string): string | undefined {
    const { host, pathname } = new URL(url)
    let key = `//${host}${pathname}`
    while (key.length > '//'.length) {
      const found = this.#authorizationAt(key)
      if (found !== undefined) return found
      key = key.endsWith('/') ? key.slice(0, -1) : key.slice(0, key.lastIndexOf('/') + 1)
    }
    return undefined
  }

  /** Variables that the credentials of an address name and that are not set. */
  unsetFor(url: string): string[] {
    const { host } = new URL(url)
    const secrets = /:(?:_authToken|_auth|_password|username)$/
    const names = new Set<string>()
    for (const [key, value] of this.#values) {
      if (!key.startsWith(`//${host}/`) || !secrets.test(key)) continue
      for (const [, name] of value.matchAll(/\$\{([^${}?]+)\}/g)) names.add(name!)
    }
    return [...names]
  }

  /** Settings are no text: whatever prints this prints no secret. */
  toJSON(): object {
    return { settings: this.#values.size }
  }

  #authorizationAt(key: string): string | undefined {
    const at = (name: string): string | undefined => this.#values.get(`${key}:${name}`) || undefined
    const token = at('_authToken')
    if (token !== undefined) return `Bearer ${token}`
    const basic = at('_auth')
    if (basic !== undefined) return `Basic ${basic}`
    const username = at('username')
    const password = at('_password')
    if (username === undefined || password === undefined) return undefined
    const plain = Buffer.from(password, 'base64').toString('utf8')
    return `Basic ${Buffer.from(`${username}:${plain}`).toString('base64')}`
  }
}

/**
 * Reads the settings where the npm client does: environment (`npm_config_…`), the project's
 * `.npmrc`, the user's. What comes first wins.
 *
 * *Cancellation*: none; it reads two small files.
 */
export async function readNpmConfig(options: NpmConfigOptions = {}): Promise<NpmConfig> {
  const env = options.env ?? process.env
  const setting = (name: string): string | undefined =>
    env[`npm_config_${name}`] ?? env[`NPM_CONFIG_${name.toUpperCase()}`]
  const files = [
    setting('userconfig') ?? path.join(env['HOME'] ?? homedir(), '.npmrc'),
    ...(options.folder === undefined ? [] : [path.join(options.folder, '.npmrc')]),
  ]
  const values = new Map<string, string>()
  for (const file of files) {
    for (const [key, value] of parseNpmrc(await textOf(file), env)) values.set(key, value)
  }
  for (const [name, value] of Object.entries(env)) {
    const key = /^npm_config_(.+)$/i.exec(name)?.[1]
    if (key === undefined || value === undefined || value === '') continue
    // Addresses and scopes are kept as they are; the client's own settings have any case.
    values.set(/^(\/\/|@)/.test(key) ? key : key.toLowerCase(), value)
  }
  return new NpmConfig(values)
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return ''
    throw error
  }
}

/** Lines `key = value`; `#` and `;` start comments; `${NAME}` is taken from the environment. */
export function parseNpmrc(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Map<string, string> {
  const values = new Map<string, string>()
  for (const line of text.replace(/^\uFEFF/, '').split(/\r?\n/)) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith(';')) continue
    const equals = trimmed.indexOf('=')
    if (equals <= 0) continue
    const key = trimmed.slice(0, equals).trim()
    const value = unquoted(trimmed.slice(equals + 1).trim())
    values.set(expanded(key, env), expanded(value, env))
  }
  return values
}

function unquoted(text: string): string {
  return /^(["'])(.*)\1$/.exec(text)?.[2] ?? text
}

/** `${NAME}` stays as it is when there is no such variable, `${NAME?}` becomes nothing. */
function expanded(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replaceAll(
    /\$\{([^${}?]+)(\?)?\}/g,
    (all, name: string, optional: string | undefined) =>
      env[name] ?? (optional === undefined ? all : ''),
  )
}
