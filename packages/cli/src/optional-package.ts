/** Commands whose package is installed on request: users of one command do not install the others. */
import { readVersion } from './own-version.ts'

/** Keyed by package: its purpose. */
const commands: Readonly<Record<string, string>> = {
  '@heddle/analyze': 'heddle analyze',
  '@heddle/release': 'heddle release',
}

/** How each package manager adds a package to a project. */
const adding: Readonly<Record<string, string>> = {
  npm: 'npm install --save-dev',
  pnpm: 'pnpm add --save-dev',
  yarn: 'yarn add --dev',
  bun: 'bun add --dev',
}

/** The package that an import did not find, if it is one of ours that is installed on request. */
export function missingPackage(error: unknown): string | undefined {
  if ((error as { code?: unknown } | null)?.code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const [, name] = /Cannot find package '([^']+)'/.exec((error as Error).message) ?? []
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined
}

/**
 * What is missing, and what to type.
 *
 * *Cancellation*: none; it reads one small file.
 */
export async function describeMissing(
  name: string,
  userAgent: string = process.env['npm_config_user_agent'] ?? '',
): Promise<string> {
  const [, manager = 'npm'] = /^(\w+)\//.exec(userAgent) ?? []
  const add = adding[manager] ?? adding['npm']!
  const version = await readVersion()
  return (
    `\`${commands[name]}\` is in the package ${name}, which is not installed.\n` +
    `        Install it: ${add} ${name}@${version}`
  )
}
