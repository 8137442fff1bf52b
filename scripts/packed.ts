/** The packages as users get them: built, packed, and published to a registry on this machine. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { publicPackages, runNode, runNpm, runTool, type ToolResult } from './tool.ts'

/** Where packages come from that are not ours. */
export const publicRegistry = 'https://registry.npmjs.org'

/** Compiles what the packages are packed from. @throws what the compiler prints. */
async function build(): Promise<void> {
  expectOk('tsc -b', await runTool('tsc', ['-b', ...buildOf(publicPackages())]))
  const site = ['packages/ui/build/build.ts', '--to', 'packages/server/dist/site']
  expectOk('the dashboard', await runNode(site))
}

/** Folders that are compiled: one package has nothing but a program in JavaScript. */
function buildOf(folders: readonly string[]): string[] {
  return folders.filter((folder) => readdirSync(folder).includes('tsconfig.json'))
}

function expectOk(what: string, { ok, output }: ToolResult): void {
  if (!ok) throw new Error(`${what} failed:\n${output}`)
}

/** A registry that has our packages as they are now, and gets all others from the public one. */
export async function startPackedRegistry(): Promise<Verdaccio> {
  await build()
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-packed-'))
  const registry = await startVerdaccio({ upstream: publicRegistry })
  try {
    const token = `--//127.0.0.1:${new URL(registry.url).port}/:_authToken=anybody`
    for (const each of publicPackages()) {
      const pack = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder]
      expectOk(`npm pack in ${each}`, await runNpm(pack, { cwd: each }))
    }
    for (const file of readdirSync(folder)) {
      const args = ['publish', path.join(folder, file), `--registry=${registry.url}`, token]
      expectOk(`npm publish ${file}`, await runNpm([...args, '--ignore-scripts'], { cwd: folder }))
    }
    return registry
  } catch (error) {
    await registry.close()
    throw error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
