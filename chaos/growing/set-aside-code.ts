/** The exit code of a life in which nodes were set aside. */
export const setAsideCode = 3
