import { raceTests } from '../support/races.ts'

const rest = `  next() {
    if (this.paused) return
    this.show(this.page + 1)
  }
  previous() {
    if (!this.paused) this.show(this.page - 1)
  }
  pause() {
    this.paused = true
  }
  show(page: number) {
    this.page = page
    render(page)
  }
}
`

raceTests('H213', [
  {
    name: 'a function of the component that the others call after a look',
    check: 'await find',
    act: 'this.show(found)',
    race: `export class Feed {
  paused = false
  page = 0
  async jump(title: string) {
    const found = await find(title)
    this.show(found)
  }
${rest}`,
    fixed: `export class Feed {
  paused = false
  page = 0
  async jump(title: string) {
    const found = await find(title)
    if (this.paused) return
    this.show(found)
  }
${rest}`,
  },
  {
    name: 'a look in the function that all of them call is a look',
    race: `export class Feed {
  paused = false
  page = 0
  jump(title: string) {
    find(title).then((found) => this.show(found))
  }
${rest}`,
    fixed: `export class Feed {
  paused = false
  page = 0
  jump(title: string) {
    find(title).then((found) => this.show(found))
  }
${rest.replace('this.page = page', 'if (this.paused) return\n    this.page = page')}`,
  },
])
