// net/http: / answers, /slow takes a second.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprint(response, "hello from go")
	})
	http.HandleFunc("/slow", func(response http.ResponseWriter, request *http.Request) {
		time.Sleep(time.Second)
		fmt.Fprint(response, "slow")
	})
	log.Printf("go listens on %s", os.Getenv("PORT"))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
