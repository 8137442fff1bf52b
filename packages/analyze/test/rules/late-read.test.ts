import { raceTests } from '../support/races.ts'

raceTests('H505', [
  {
    name: 'a buffer that is emptied under the writer',
    check: 'this.write()',
    act: 'this.lines = []',
    race: `export class Log {
  lines: string[] = []
  flush() {
    const writing = this.write()
    this.lines = []
    return writing
  }
  async write() {
    const file = await open()
    await file.append(this.lines.join())
  }
}
`,
    fixed: `export class Log {
  lines: string[] = []
  flush() {
    const lines = this.lines
    this.lines = []
    return this.write(lines)
  }
  async write(lines: string[]) {
    const file = await open()
    await file.append(lines.join())
  }
}
`,
  },
])
