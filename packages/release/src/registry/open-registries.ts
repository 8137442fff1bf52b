/** From settings to registries: one client for the whole release, one registry for each address. */
import { HeddleError } from '@heddle/core'
import { systemKernel, type Kernel } from '@heddle/core/lowlevel'
import { isFields } from '../manifest/local-range.ts'
import type { Ecosystem, PlannedPackage } from '../model.ts'
import { HttpClient } from './http/client.ts'
import { npmRegistry } from './npm/npm-registry.ts'
import { readNpmConfig } from './npm/npmrc.ts'
import type { OtpPrompt } from './npm/one-time-passwords.ts'
import { pypiRegistry } from './pypi/pypi-registry.ts'
import type { Registry } from './registry.ts'

export interface OpenRegistriesOptions {
  /** The workspace, whose `.npmrc` counts. */
  readonly folder: string
  /** For all npm packages, whatever the settings and manifests say. */
  readonly npm?: string
  /** For all Python packages. */
  readonly pypi?: string
  /**
   * Keyed by scope (`@acme`), and `npm` for all other npm packages, unless a manifest names another
   * registry.
   */
  readonly registries?: Readonly<Record<string, string>>
  /** How a person is asked for one-time passwords. */
  readonly prompt?: OtpPrompt
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly kernel?: Kernel
}

export interface Registries extends AsyncDisposable {
  readonly registryOf: (planned: Pick<PlannedPackage, 'package'>) => Registry
  /** The registry at an address that a journal has recorded, unless the options name another one. */
  readonly registryAt: (url: string, ecosystem: Ecosystem) => Registry
}

const publicPypi = 'https://pypi.org/'

/**
 * Opens registries as packages ask for them.
 *
 * *Cancellation*: none; it reads two small files.
 */
export async function openRegistries(options: OpenRegistriesOptions): Promise<Registries> {
  const { folder, kernel = systemKernel, env = process.env } = options
  const config = await readNpmConfig({ folder, env })
  const transports = await config.transports(env)
  const http = new HttpClient({ kernel, transportFor: transports })
  const open = new Map<string, Registry>()
  const at = (url: string, make: () => Registry): Registry => {
    let registry = open.get(url)
    if (registry === undefined) {
      checkAddress(url)
      open.set(url, (registry = make()))
    }
    return registry
  }
  const registryAt = (url: string, ecosystem: Ecosystem): Registry => {
    if (ecosystem === 'npm') {
      const { prompt } = options
      const asks = prompt === undefined ? {} : { prompt }
      return at(url, () => npmRegistry({ url, config, http, kernel, env, ...asks }))
    }
    const token = pypiToken(env)
    return at(url, () => pypiRegistry({ url, http, env, ...(token !== undefined && { token }) }))
  }
  return {
    registryOf: ({ package: { name, ecosystem, manifest } }) => {
      const configured = options.registries ?? {}
      if (ecosystem === 'python') {
        return registryAt(options.pypi ?? configured['pypi'] ?? publicPypi, ecosystem)
      }
      const scope = /^(@[^/]+)\//.exec(name)?.[1] ?? ''
      const url =
        options.npm ??
        ownRegistry(manifest, scope) ??
        configured[scope] ??
        configured['npm'] ??
        config.registryFor(name)
      return registryAt(url, ecosystem)
    },
    registryAt: (url, ecosystem) =>
      registryAt((ecosystem === 'npm' ? options.npm : options.pypi) ?? url, ecosystem),
    [Symbol.asyncDispose]: async () => {
      for (const registry of open.values()) await registry.close()
      await http.close()
    },
  }
}

/** The variables of uv and twine, used when there is no PYPI_TOKEN. */
function pypiToken(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { PYPI_TOKEN: own, UV_PUBLISH_TOKEN: uv, TWINE_USERNAME: user, TWINE_PASSWORD: twine } = env
  // With another user it is the password of an account.
  const isToken = user === undefined || user === '__token__'
  return own || uv || (isToken ? twine : undefined) || undefined
}

function checkAddress(url: string): void {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return
  // Text that looks like a name and a password is not printed.
  const value = url.replace(/[^/]*@/, '')
  const expected = 'the address of a registry, with http or https'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'registry', value, expected })
}

/** npm reads the registry of the scope from `publishConfig` too, and before the other one: it is how packages name a project of GitLab. */
function ownRegistry(
  { publishConfig }: Readonly<Record<string, unknown>>,
  scope: string,
): string | undefined {
  if (!isFields(publishConfig)) return undefined
  const found = [publishConfig[`${scope}:registry`], publishConfig['registry']]
  return found.find((each) => typeof each === 'string')
}
