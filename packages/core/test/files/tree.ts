import fs from 'node:fs'
import path from 'node:path'
import { Folder } from './support.ts'

/** Five manifests as they are found in the wild. */
export const originals: Readonly<Record<string, Buffer>> = {
  'bom.json': Buffer.from('\ufeff{ "name": "bom" }\n'),
  'crlf.json': Buffer.from('{\r\n  "name": "crlf"\r\n}\r\n'),
  'no-newline.json': Buffer.from('{ "name": "no-newline" }'),
  'not-utf8.json': Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]),
  'tabs.json': Buffer.from('{\n\t"name": "tabs"\n}\n'),
}
export const names = Object.keys(originals)

/** A tree with the five files, and a journal folder beside it. */
export class Tree extends Folder {
  constructor() {
    super()
    for (const [name, bytes] of Object.entries(originals)) this.write(`tree/${name}`, bytes)
  }

  get journal(): string {
    return this.at('journal')
  }

  file(name = names[0]!): string {
    return this.at('tree', name)
  }

  /** How many of the files are as they were, byte by byte. */
  identical(): number {
    return names.filter((name) => fs.readFileSync(this.file(name)).equals(originals[name]!)).length
  }

  /** What is there besides the five files and the lock. */
  traces(): string[] {
    return this.names().filter((name) => {
      const isFile = names.some((known) => name === path.join('tree', known))
      return !isFile && !name.startsWith(path.join('journal', 'registry.lock'))
    })
  }
}
