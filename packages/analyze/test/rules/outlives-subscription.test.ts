import { raceTests } from '../support/races.ts'

const subscribe = (body: string): string => `import { Observable } from 'rxjs'
export function news(given: Promise<string>, url: string) {
  return new Observable((observer) => {
    ${body}
  })
}
`

raceTests('H311', [
  {
    name: 'what only listens to a promise that it was given starts nothing',
    act: 'observer.next',
    race: subscribe('fetch(url).then((text) => { observer.next(text) })'),
    fixed: subscribe('given.then((text) => { observer.next(text) })'),
  },
  {
    name: 'who gets the subscriber can add what ends the work',
    act: 'observer.error',
    race: subscribe('run(url).catch((error) => { observer.error(error) })'),
    fixed: subscribe('run(url, observer).catch((error) => { observer.error(error) })'),
  },
])
