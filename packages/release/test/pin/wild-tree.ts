/** Five manifests as they are found in the wild, in a tree of their own. */
import fs from 'node:fs'
import { planFromDisk, Tree } from '../plan-kit.ts'
import type { ReleasePlan } from '../../src/model.ts'

const manifests: Readonly<Record<string, string>> = {
  // Tabs, no last line end.
  'packages/tabs/package.json':
    '{\n\t"name": "tabs",\n\t"version": "1.0.0",\n\t"dependencies": { "crlf": "workspace:^" }\n}',
  // CRLF.
  'packages/crlf/package.json':
    '{\r\n  "name": "crlf",\r\n  "version": "1.0.0",\r\n  "dependencies": {\r\n    "bom":   "^1.0.0",\r\n    "express": "^5.0.0"\r\n  }\r\n}\r\n',
  // A byte order mark.
  'packages/bom/package.json':
    '\ufeff{ "name": "bom", "version": "1.0.0", "peerDependencies": { "tabs": "workspace:*" } }\n',
  // Reached by a symbolic link.
  'packages/snake/pyproject.toml':
    '# a comment\n[project]\nname = "snake"\nversion = "0.4.0" # kept\ndependencies = [\n\t"Py_Thon[a,b]>=0.4; os_name == \'nt\'", # why\n\t"httpx",\n]\n',
  // Read by its owner only.
  'packages/py-thon/pyproject.toml':
    "[project]\r\nname = 'py-thon'\r\nversion = '0.4.0'\r\n[project.optional-dependencies]\r\nx = ['snake']",
}
export const manifestNames: readonly string[] = Object.keys(manifests)
const linked = 'packages/snake/pyproject.toml'
const secret = 'packages/py-thon/pyproject.toml'

export class WildTree extends Tree {
  constructor() {
    super()
    for (const [name, text] of Object.entries(manifests)) this.write(name, text)
    this.write('elsewhere/real.toml', manifests[linked]!)
    fs.rmSync(this.at(linked))
    fs.symlinkSync('../../elsewhere/real.toml', this.at(linked))
    fs.chmodSync(this.at(secret), 0o600)
  }

  get journal(): string {
    return this.at('journal')
  }

  plan(): ReleasePlan {
    const next = { tabs: '1.1.0', crlf: '1.1.0', bom: '1.1.0', snake: '0.5.0', 'py-thon': '0.5.0' }
    return planFromDisk(this, next)
  }

  read(name: string): string {
    return fs.readFileSync(this.at(name), 'utf8')
  }

  /** How many of the manifests are as they were: bytes, link and mode. */
  identical(): number {
    return manifestNames.filter((name) => {
      const isLink = fs.lstatSync(this.at(name)).isSymbolicLink()
      const isSecret = (fs.statSync(this.at(name)).mode & 0o777) === 0o600
      const isKept = isLink === (name === linked) && isSecret === (name === secret)
      return isKept && this.read(name) === manifests[name]
    }).length
  }

  /** How many are pinned: none of the old versions is left. */
  pinned(): number {
    return manifestNames.filter((name) => {
      const text = this.read(name)
      return text !== manifests[name] && !/workspace:|"1\.0\.0"|0\.4/.test(text)
    }).length
  }

  /** What is there besides the manifests and the lock. */
  traces(): string[] {
    return this.names().filter(
      (name) =>
        !manifestNames.includes(name) &&
        name !== 'elsewhere/real.toml' &&
        !name.startsWith('journal/registry.lock'),
    )
  }
}
