// For the type check only: the script adds `topojson` to the global object.
export {};
