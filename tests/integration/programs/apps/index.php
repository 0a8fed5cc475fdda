<?php
// php -S: / answers, /slow takes a second.
if ($_SERVER['REQUEST_URI'] === '/slow') {
    sleep(1);
    echo 'slow';
} else {
    echo 'hello from php';
}
