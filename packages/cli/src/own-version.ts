import { readFile } from 'node:fs/promises'

/** The version of this package: package.json is one folder up, from the source and from the build. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
