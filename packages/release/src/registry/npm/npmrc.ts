/**
 * Settings of the npm client that give the registry of a package and our account there.
 *
 * Only a few keys matter: `registry`, `@scope:registry`, and under the address of a registry
 * `_authToken`, `_auth`, or `username` with `_password`. Nothing here is ever printed: values that are
 * secret leave this file only as the `authorization` header of a request to the address they are for.
 */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import type { Transport } from '../http/transport.ts'

export interface NpmConfigOptions {
  /** Where the project's `.npmrc` is. */
  readonly folder?: string
  /** Default: the one of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const defaultRegistry = 'https://registry.npmjs.org/'

/** The public registry under the name that Yarn 1 sets for every script. Tokens are kept under the other name. */
const yarnAlias = /^https?:\/\/registry\.yarnpkg\.com\/?$/

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
    const found = ofScope ?? this.#values.get('registry') ?? defaultRegistry
    return yarnAlias.test(found) ? defaultRegistry : found
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

  /**
   * How each origin is reached: `proxy`, `https-proxy`, `noproxy` (also from `HTTP_PROXY`, `HTTPS_PROXY`,
   * `NO_PROXY`), `ca`, `cafile`, `cert`, `key`, `strict-ssl`, and `certfile` and `keyfile` under an address.
   *
   * *Cancellation*: none; it reads small files.
   * @throws as the file system, for a file that is named and cannot be read.
   */
  async transports(
    env: Readonly<Record<string, string | undefined>>,
  ): Promise<(origin: string) => Transport> {
    const of = (name: string): string | undefined => {
      const value = this.#values.get(name)
      return value === undefined || value === '' || value === 'null' ? undefined : value
    }
    const variable = (name: string): string | undefined =>
      env[name] || env[name.toLowerCase()] || undefined
    const pem = (text: string | undefined): string | undefined => text?.replaceAll('\\n', '\n')
    const file = of('cafile')
    const ca = file === undefined ? pem(of('ca')) : await readFile(file, 'utf8')
    const common = { cert: pem(of('cert')), key: pem(of('key')) }
    const byHost = await this.#certificates()
    const proxies: Readonly<Record<string, string | undefined>> = {
      'https:':
        of('https-proxy') ?? of('proxy') ?? variable('HTTPS_PROXY') ?? variable('HTTP_PROXY'),
      'http:': of('proxy') ?? variable('HTTP_PROXY'),
    }
    const direct = (of('noproxy') ?? of('no-proxy') ?? variable('NO_PROXY') ?? '')
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '')
    return (origin) => {
      const { protocol, host, hostname } = new URL(origin)
      const proxy = direct.some((each) => isUnder(hostname, each)) ? undefined : proxies[protocol]
      const { cert, key } = byHost.get(host) ?? common
      return {
        ...(proxy !== undefined && { proxy }),
        ...(ca !== undefined && { ca: [ca] }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
        isStrict: of('strict-ssl') !== 'false',
      }
    }
  }

  async #certificates(): Promise<Map<string, { readonly cert: string; readonly key: string }>> {
    const found = new Map<string, { readonly cert: string; readonly key: string }>()
    for (const [name, certFile] of this.#values) {
      const address = /^(\/\/([^/]+)\/.*):certfile$/.exec(name)
      const keyFile = address === null ? undefined : this.#values.get(`${address[1]}:keyfile`)
      if (address === null || keyFile === undefined) continue
      const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
      found.set(address[2]!, { cert, key })
    }
    return found
  }

  /** Whether a setting of npm that is on or off is on. */
  isOn(name: string): boolean {
    const value = this.#values.get(name)
    return value === 'true' || value === '1'
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

  /** Not the settings: whatever prints this prints no secret. */
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
    // Addresses and scopes are kept as they are. The client's own settings have any case, and a variable
    // cannot have the `-` of `strict-ssl`.
    const isAddress = /^(\/\/|@)/.test(key)
    values.set(isAddress ? key : key.toLowerCase().replaceAll(/(?!^)_/g, '-'), value)
  }
  return new NpmConfig(values)
}

/** `*`, a host, or a domain with all hosts in it. */
function isUnder(hostname: string, pattern: string): boolean {
  const domain = pattern.replace(/^\*?\./, '')
  return pattern === '*' || hostname === domain || hostname.endsWith(`.${domain}`)
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
